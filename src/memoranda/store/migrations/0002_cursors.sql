-- How far a consumer has read in a namespace; moved in the same transaction as what the reading led to.
CREATE TABLE cursors (
    consumer {text} NOT NULL,
    tenant   {text} NOT NULL,
    labels   {text} NOT NULL,
    position {bigint} NOT NULL,
    lease    {text},                    -- who may move it at present; NULL: anyone
    moved_at {bigint} NOT NULL,
    PRIMARY KEY (tenant, labels, consumer)
);
