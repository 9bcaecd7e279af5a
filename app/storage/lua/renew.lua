-- Let a lock last longer if it is still ours.
-- KEYS: lock
-- ARGV: token, milliseconds
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
