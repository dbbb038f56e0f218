-- Work that is done later: jobs, the schedules that make them, and the runs that came of them.

ALTER TABLE namespaces ADD COLUMN turned_at {bigint};  -- when a turn was last recorded; NULL: none was

UPDATE namespaces
SET turned_at = (
    SELECT t.recorded_at FROM turns t
    WHERE t.id > namespaces.id * 4294967296 AND t.id < (namespaces.id + 1) * 4294967296
    ORDER BY t.id DESC LIMIT 1
)
WHERE turns > 0;

-- What was talked in since a time, for schedules that wait until a conversation is over.
CREATE INDEX namespaces_by_turn ON namespaces (tenant, turned_at) WHERE turned_at IS NOT NULL;

CREATE TABLE jobs (
    number      {identity},
    tenant      {text} NOT NULL,
    queue       {text} NOT NULL,        -- who does it, for example the name of a consolidator
    labels      {text} NOT NULL,        -- the namespace that it is about; '': none
    origin      {text} NOT NULL,        -- what led to it; nothing leads to two jobs of one queue and namespace
    state       {text} NOT NULL,        -- waiting, running, done, parked
    due_at      {bigint} NOT NULL,      -- not before
    attempts    {bigint} NOT NULL,      -- how often it was begun
    lease       {text},                 -- random, of who runs it
    lease_until {bigint},               -- when another may take it over
    worker      {text},
    payload     {text} NOT NULL,        -- JSON
    error       {text},                 -- of the last attempt
    created_at  {bigint} NOT NULL,
    started_at  {bigint},
    ended_at    {bigint},
    UNIQUE (tenant, queue, labels, origin)
);

CREATE INDEX jobs_waiting ON jobs (tenant, queue, due_at, number) WHERE state = 'waiting';

CREATE INDEX jobs_running ON jobs (tenant, queue, lease_until) WHERE state = 'running';

-- Nobody works twice at once on one namespace.
CREATE UNIQUE INDEX jobs_at_once ON jobs (tenant, queue, labels) WHERE state = 'running' AND labels <> '';

CREATE INDEX jobs_done ON jobs (tenant, ended_at) WHERE state = 'done';

CREATE INDEX jobs_parked ON jobs (tenant, number) WHERE state = 'parked';

CREATE INDEX jobs_by_scope ON jobs (tenant, labels, number);

CREATE TABLE schedules (
    number     {identity},
    tenant     {text} NOT NULL,
    name       {text} NOT NULL,
    queue      {text} NOT NULL,
    kind       {text} NOT NULL,         -- cron, idle
    line       {text},                  -- cron: when
    zone       {text} NOT NULL,         -- cron: in which time zone
    minutes    {float},                 -- idle: how long nothing was said
    labels     {text} NOT NULL,         -- the prefix of the namespaces that it is for
    paused     {smallint} NOT NULL,
    payload    {text} NOT NULL,         -- JSON
    created_at {bigint} NOT NULL,
    last_due   {bigint},                -- cron: the due time that was fired last
    next_due   {bigint},                -- cron: the next due time; idle: when to look again; NULL: it is paused
    looked_to  {bigint},                -- idle: up to which turned_at; cron: when all namespaces were looked at
    UNIQUE (tenant, name)
);

CREATE INDEX schedules_by_due ON schedules (tenant, next_due) WHERE next_due IS NOT NULL;

CREATE TABLE runs (
    number         {identity},
    tenant         {text} NOT NULL,
    id             {text} NOT NULL,     -- short and typable, such as r-7f3k2m
    consumer       {text} NOT NULL,     -- whose cursor moved
    labels         {text} NOT NULL,
    after_position {bigint} NOT NULL,   -- it covers the turns behind this one
    to_position    {bigint} NOT NULL,   -- up to this one
    status         {text} NOT NULL,     -- applied, unchanged, proposed, rejected, parked, undone
    turns          {bigint} NOT NULL,
    changes        {text} NOT NULL,     -- JSON: what it changed, and which messages led to it
    model          {text},
    tokens_in      {bigint} NOT NULL,
    tokens_out     {bigint} NOT NULL,
    attempts       {bigint} NOT NULL,
    started_at     {bigint} NOT NULL,
    ended_at       {bigint} NOT NULL,
    proposal       {text},
    undone_by      {text},
    error          {text},
    summary        {text},
    job            {bigint},
    UNIQUE (tenant, id)
);

-- No range is covered twice.
CREATE UNIQUE INDEX runs_by_range ON runs (tenant, consumer, labels, after_position);

CREATE INDEX runs_by_scope ON runs (tenant, labels, number);

CREATE INDEX runs_by_proposal ON runs (tenant, proposal) WHERE proposal IS NOT NULL
