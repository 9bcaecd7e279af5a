-- Change API keys together, unless somebody has changed them since they were read.
-- KEYS: the hash of all API keys, the hash of revoked ones; both have the field `version`
-- ARGV: the version of each as it was read ('' for none), the next version, then triples: 1 or 2 for the hash, a
-- field, and its value ('' deletes the field)
-- Returns 1, or 0 if somebody else has changed them.
for hash = 1, 2 do
  if (redis.call('HGET', KEYS[hash], 'version') or '') ~= ARGV[hash] then
    return 0
  end
end
for i = 4, #ARGV, 3 do
  local key = KEYS[tonumber(ARGV[i])]
  if ARGV[i + 2] == '' then
    redis.call('HDEL', key, ARGV[i + 1])
  else
    redis.call('HSET', key, ARGV[i + 1], ARGV[i + 2])
  end
end
redis.call('HSET', KEYS[1], 'version', ARGV[3])
redis.call('HSET', KEYS[2], 'version', ARGV[3])
return 1
