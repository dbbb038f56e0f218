-- Conversations: every message once, as it was said. Turns are no items: they have no history and are in no listing.

CREATE TABLE turns (
    id           {bigint_key},          -- namespace id * 2^32 + position: the order in which they became visible
    namespace_id {bigint} NOT NULL,
    thread_id    {text} NOT NULL,
    message_id   {text} NOT NULL,
    place        {bigint} NOT NULL,     -- order in the conversation, with gaps for what is recorded later
    role         {text} NOT NULL,       -- user, assistant, tool
    speaker      {text},
    user_id      {text},
    org_id       {text},
    agent_id     {text},
    run_id       {text},
    at           {bigint} NOT NULL,     -- when it was said
    recorded_at  {bigint} NOT NULL,
    tools        {text},                -- JSON: the names of the tools that it called, or that answered
    other_blocks {bigint} NOT NULL,     -- how many images and the like it had, which are not kept
    size         {bigint} NOT NULL,     -- bytes of its text before it was cut
    passages     {bytes},               -- what the index has of it, packed; NULL: it is not indexed yet
    body         {bytes} NOT NULL       -- its text, UTF-8
);

CREATE UNIQUE INDEX turns_by_message ON turns (namespace_id, thread_id, message_id);

CREATE INDEX turns_by_place ON turns (namespace_id, thread_id, place);

CREATE INDEX turns_by_org ON turns (org_id, id) WHERE org_id IS NOT NULL;

CREATE INDEX turns_by_user ON turns (user_id, id) WHERE user_id IS NOT NULL;

CREATE INDEX turns_by_agent ON turns (agent_id, id) WHERE agent_id IS NOT NULL;

CREATE INDEX turns_not_indexed ON turns (namespace_id) WHERE passages IS NULL;

-- One row for each conversation, so that listing them costs what it shows.
CREATE TABLE threads (
    namespace_id {bigint} NOT NULL,
    thread_id    {text} NOT NULL,
    turns        {bigint} NOT NULL,     -- how many
    first_at     {bigint} NOT NULL,
    last_at      {bigint} NOT NULL,
    last_place   {bigint} NOT NULL,
    checkpoint   {text},                -- of a checkpointer, up to which all was taken over; NULL: none
    PRIMARY KEY (namespace_id, thread_id)
);

CREATE INDEX threads_by_time ON threads (namespace_id, last_at);
