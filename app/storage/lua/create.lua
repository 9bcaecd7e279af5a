-- Create a tenant's log unless it exists.
-- KEYS: meta, log
-- ARGV: the name of a new incarnation, incarnations that have ended (separated by spaces), the payload of the first
--       event or ''
-- Returns {incarnation, version, chain}
local meta = redis.call('HMGET', KEYS[1], 'born', 'version', 'chain', 'was')
if meta[1] then return {meta[1], meta[2], meta[3]} end
local born, ended, first = ARGV[1], ARGV[2], ARGV[3]
local version, chain = '0', born
if first ~= '' then
  local follows = redis.sha1hex(born .. first)
  local written = redis.pcall('XADD', KEYS[2], '0-1', 'p', first, 'c', follows)
  -- An error means that a log is left of a tenant whose meta is lost: who loads the tenant reports the damage.
  if type(written) == 'string' then version, chain = '1', follows end
end
redis.call('HSET', KEYS[1], 'born', born, 'version', version, 'chain', chain)
if ended ~= '' and not meta[4] then redis.call('HSET', KEYS[1], 'was', string.sub(ended, 1, 500)) end
redis.call('PERSIST', KEYS[1])
return {born, version, chain}
