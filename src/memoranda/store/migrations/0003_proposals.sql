-- Changes that wait for a reviewer, and what was decided.
CREATE TABLE proposals (
    number     {identity},
    tenant     {text} NOT NULL,
    id         {text} NOT NULL,         -- short and typable, such as p-7f3k2m
    status     {text} NOT NULL,         -- pending, accepted, rejected
    created_at {bigint} NOT NULL,
    actor        {text},
    thread_id    {text},
    run_id       {text},
    tool_call_id {text},
    reason       {text},
    waits_for  {text},                  -- why it waits instead of landing
    source     {text},                  -- what made it wait: a permission, a hook, a consolidator
    body       {bytes} NOT NULL,        -- JSON: the changes, and the revisions that they were made from
    decided_at {bigint},
    decided_by {text},
    note       {text},
    UNIQUE (tenant, id)
);

CREATE INDEX proposals_by_status ON proposals (tenant, status, number);

-- Which namespaces a proposal would change.
CREATE TABLE proposal_scopes (
    tenant {text} NOT NULL,
    labels {text} NOT NULL,
    number {bigint} NOT NULL,
    PRIMARY KEY (tenant, labels, number)
);
