-- The search index: packed blocks of passages, and the embedders whose vectors it holds.

ALTER TABLE namespaces ADD COLUMN passages {bigint} NOT NULL DEFAULT 0;  -- how many passage numbers were given out
ALTER TABLE namespaces ADD COLUMN turns {bigint} NOT NULL DEFAULT 0;     -- the position of the last recorded turn

ALTER TABLE items ADD COLUMN passages {bytes};    -- its passages, packed; NULL: not indexed yet
ALTER TABLE items ADD COLUMN index_fields {text}; -- JSON: what of it to index; NULL: as the store has it

CREATE INDEX items_not_indexed ON items (namespace_id) WHERE live = 1 AND passages IS NULL;

-- Immutable pieces of the index of one scope; see docs/design/search.md. A write adds small ones, tending merges them.
CREATE TABLE blocks (
    id       {identity},
    scope    {bigint} NOT NULL,         -- namespace id * 2, plus 1 for its turns
    part     {smallint} NOT NULL,       -- words, dead, vectors, waiting (see store/operations/indexing.py)
    index_id {bigint} NOT NULL,         -- whose vectors; 0 for words and dead
    count    {bigint} NOT NULL,         -- how many passages it holds
    stamp    {bigint} NOT NULL DEFAULT ({random_number}), -- tells it from a block of this id in another database, or after a restore
    body     {bytes} NOT NULL
);

CREATE INDEX blocks_by_scope ON blocks (scope, part, id, index_id, count, stamp);

CREATE INDEX blocks_waiting ON blocks (index_id, id) WHERE part = 3;

{packed_blocks};

-- One row for each embedder that the index has, or is getting, vectors of.
CREATE TABLE indexes (
    id          {identity},
    tenant      {text} NOT NULL,
    name        {text} NOT NULL,
    dims        {bigint} NOT NULL,
    probe       {bytes} NOT NULL,       -- float32 vector of a fixed sentence: tells embedders of one name apart
    similarity_floor {float} NOT NULL,  -- how alike texts are that have nothing in common
    state       {text} NOT NULL,        -- building, serving
    progress    {text} NOT NULL,        -- the namespace up to which it is filled while building
    created_at  {bigint} NOT NULL,
    lease       {text},                 -- who fills it at present
    lease_until {bigint}
);

CREATE INDEX indexes_by_tenant ON indexes (tenant, id);

-- What the index was made with: the version of the tokenizer.
CREATE TABLE index_settings (
    tenant {text} NOT NULL,
    name   {text} NOT NULL,
    value  {text} NOT NULL,
    PRIMARY KEY (tenant, name)
);
