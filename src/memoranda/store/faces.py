"""The parts of a store that have methods of their own: its jobs, its schedules, and its runs."""

from __future__ import annotations

from memoranda.store.companions import Companion
from memoranda.store.engines.base import Engine
from memoranda.store.jobs import Job
from memoranda.store.operations import firing, job_reading, jobs, run_reading, runs, schedules, unread
from memoranda.store.operations.context import Context
from memoranda.store.pairs import awaiting, blocking
from memoranda.store.runs import RunRecord


class Part:
    """A part of a store, which reads and writes as the store does.

    Args:
        engine: The store's engine.
        context: The store's settings.
    """

    __slots__ = ("context", "engine")

    def __init__(self, engine: Engine, context: Context) -> None:
        self.engine = engine
        self.context = context


class Jobs(Part):
    """Work that is done later, as rows of the store's database.

    A worker claims a job, and has it until its lease runs out; of one queue and scope only one job runs at a time.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.jobs.enqueue("tidy", ("ann",), payload={"why": "asked"})
        ...     job = store.jobs.claim(["tidy"], worker="w1", lease=30)
        ...     job.payload["why"], store.jobs.finish(job), store.jobs.get(job.number).state
        ('asked', True, 'done')
    """

    __slots__ = ()

    enqueue, aenqueue = blocking(jobs.enqueue, "Jobs"), awaiting(jobs.enqueue, "Jobs")
    claim, aclaim = blocking(jobs.claim, "Jobs"), awaiting(jobs.claim, "Jobs")
    heartbeat, aheartbeat = blocking(jobs.heartbeat, "Jobs"), awaiting(jobs.heartbeat, "Jobs")
    finish, afinish = blocking(jobs.finish, "Jobs"), awaiting(jobs.finish, "Jobs")
    retry, aretry = blocking(jobs.retry, "Jobs"), awaiting(jobs.retry, "Jobs")
    park, apark = blocking(jobs.park, "Jobs"), awaiting(jobs.park, "Jobs")
    release, arelease = blocking(jobs.release, "Jobs"), awaiting(jobs.release, "Jobs")
    get, aget = blocking(job_reading.get, "Jobs"), awaiting(job_reading.get, "Jobs")
    list, alist = blocking(job_reading.list_jobs, "Jobs", "list"), awaiting(job_reading.list_jobs, "Jobs", "list")
    resume, aresume = blocking(jobs.resume, "Jobs"), awaiting(jobs.resume, "Jobs")
    next_due, anext_due = blocking(job_reading.next_due, "Jobs"), awaiting(job_reading.next_due, "Jobs")
    sweep, asweep = blocking(jobs.sweep, "Jobs"), awaiting(jobs.sweep, "Jobs")
    fan_out, afan_out = blocking(unread.fan_out, "Jobs"), awaiting(unread.fan_out, "Jobs")
    is_rearmed, ais_rearmed = blocking(firing.is_rearmed, "Jobs"), awaiting(firing.is_rearmed, "Jobs")


class Schedules(Part):
    """When jobs are made by themselves, as rows of the store's database.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.schedules.put("nightly", "tidy", cron="30 3 * * *", zone="Europe/Berlin")
        ...     [schedule.name for schedule in store.schedules.list()]
        ['nightly']
    """

    __slots__ = ()

    put, aput = blocking(schedules.put, "Schedules"), awaiting(schedules.put, "Schedules")
    get, aget = blocking(schedules.get, "Schedules"), awaiting(schedules.get, "Schedules")
    list, alist = (
        blocking(schedules.list_schedules, "Schedules", "list"),
        awaiting(schedules.list_schedules, "Schedules", "list"),
    )
    pause, apause = blocking(schedules.pause, "Schedules"), awaiting(schedules.pause, "Schedules")
    resume, aresume = blocking(schedules.resume, "Schedules"), awaiting(schedules.resume, "Schedules")
    remove, aremove = blocking(schedules.remove, "Schedules"), awaiting(schedules.remove, "Schedules")
    fire, afire = blocking(firing.fire, "Schedules"), awaiting(firing.fire, "Schedules")


class Runs(Part):
    """What was worked through and what came of it, as rows of the store's database.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     store.runs.cursor("tidy", ("ann",)), store.runs.list("tidy")
        (0, [])
    """

    __slots__ = ()

    get, aget = blocking(run_reading.get, "Runs"), awaiting(run_reading.get, "Runs")
    list, alist = blocking(run_reading.list_runs, "Runs", "list"), awaiting(run_reading.list_runs, "Runs", "list")
    cursor, acursor = blocking(run_reading.cursor, "Runs"), awaiting(run_reading.cursor, "Runs")
    covered, acovered = blocking(run_reading.covered, "Runs"), awaiting(run_reading.covered, "Runs")
    unread, aunread = blocking(unread.unread, "Runs"), awaiting(unread.unread, "Runs")
    new_id, anew_id = blocking(run_reading.new_id, "Runs"), awaiting(run_reading.new_id, "Runs")
    park, apark = blocking(runs.park, "Runs"), awaiting(runs.park, "Runs")

    def record(self, run: RunRecord, job: Job | None = None) -> runs.Recording:
        """What records a run with the commit that it travels with; see `memoranda.store.operations.runs.record`."""
        return runs.record(self.context, run, job)

    def rerecord(self, run: RunRecord, job: Job | None = None) -> Companion:
        """The same for a parked run that is made again; see `memoranda.store.operations.runs.rerecord`."""
        return runs.rerecord(self.context, run, job)

    def undoing(self, id: str, *, by: str | None = None) -> Companion:
        """What notes that a run is undone with the commit that does it."""
        return runs.undoing(self.context, id, by=by)
