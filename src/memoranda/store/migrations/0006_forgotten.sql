-- A conversation that was forgotten leaves a row without turns, by which its messages are known if they come again.

ALTER TABLE threads ADD COLUMN forgotten_at {bigint};    -- when it was forgotten; NULL: it was not
ALTER TABLE threads ADD COLUMN forgotten_salt {bytes};   -- random, so that no one finds a message by guessing its id
ALTER TABLE threads ADD COLUMN forgotten {bytes};        -- salted digests of the ids of its messages, 8 bytes each, sorted

-- Who else is recorded in a conversation.
CREATE INDEX threads_by_id ON threads (thread_id);
