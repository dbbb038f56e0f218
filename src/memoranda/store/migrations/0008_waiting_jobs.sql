-- Jobs of one namespace are merged while they wait.

CREATE INDEX jobs_waiting_by_scope ON jobs (tenant, queue, labels) WHERE state = 'waiting'
