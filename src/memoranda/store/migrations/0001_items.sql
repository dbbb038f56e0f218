-- Namespaces, their items, and the history of both.
-- {types} differ between the engines and are filled in when the migration runs.

{feed_function};

CREATE TABLE namespaces (
    id       {identity},
    tenant   {text} NOT NULL,           -- a hard wall between customers of one deployment
    labels   {text} NOT NULL,           -- every label followed by \x01 (see store/namespaces.py)
    position {bigint} NOT NULL,         -- of the last revision written in this namespace: 1, 2, 3 …
    items    {bigint} NOT NULL,         -- how many item numbers were given out
    live     {bigint} NOT NULL,         -- how many items are not deleted
    digest   {bytes} NOT NULL,          -- the sum of its items' digests, modulo 2^256
    UNIQUE (tenant, labels)
);

-- The current state of every item; a deleted one stays, without a body, to carry its history.
CREATE TABLE items (
    id           {bigint_key},          -- namespace id * 2^32 + the number of the item: creation order in its scope
    namespace_id {bigint} NOT NULL,
    key          {text} NOT NULL,
    parent       {text} NOT NULL,       -- the folder of the key; '' for a key that is no path
    revision     {bigint} NOT NULL,     -- of the current state: 1, 2, 3 …
    kind         {smallint} NOT NULL,   -- what the body holds (see store/values.py)
    live         {smallint} NOT NULL,   -- 0: deleted
    size         {bigint} NOT NULL,     -- bytes of the body
    created_at   {bigint} NOT NULL,     -- microseconds since the epoch, UTC, like every time here
    updated_at   {bigint} NOT NULL,
    expires_at   {bigint},
    ttl          {float},               -- minutes
    digest       {bytes} NOT NULL,      -- the head of the item's chain
    meta         {bytes} NOT NULL,
    body         {bytes} NOT NULL
);

CREATE UNIQUE INDEX items_by_key ON items (namespace_id, key);

-- Listing, globbing and searching text touch live items only, a folder at a time.
CREATE INDEX items_by_folder ON items (namespace_id, parent, key) WHERE live = 1;

CREATE INDEX items_by_expiry ON items (expires_at) WHERE expires_at IS NOT NULL;

-- One row for each change of an item. What the change replaced lies beside it, as a delta against what it wrote.
CREATE TABLE revisions (
    feed           {feed},              -- order of the global feed (see store/operations/feed.py)
    namespace_id   {bigint} NOT NULL,
    position       {bigint} NOT NULL,   -- order within the namespace, without gaps while nothing is forgotten
    item_id        {bigint} NOT NULL,
    revision       {bigint} NOT NULL,
    operation      {text} NOT NULL,     -- write, edit, append, delete, move, restore
    at             {bigint} NOT NULL,
    actor          {text},
    thread_id      {text},
    run_id         {text},
    tool_call_id   {text},
    reason         {text},
    origin         {text},              -- JSON: what it was merged with, moved or restored from
    size           {bigint} NOT NULL,
    salt           {bytes} NOT NULL,
    content_digest {bytes} NOT NULL,
    digest         {bytes} NOT NULL,
    previous_kind  {smallint},          -- NULL: there was nothing before
    previous_meta  {bytes},
    delta_kind     {smallint},
    delta          {bytes}
);

CREATE UNIQUE INDEX revisions_by_item ON revisions (item_id, revision);

CREATE UNIQUE INDEX revisions_by_position ON revisions (namespace_id, position);

{feed_index}
