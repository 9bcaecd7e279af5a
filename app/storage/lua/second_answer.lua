-- Answer a blind second review: keep the opinion of the person who holds the lease, or pass the prediction on.
-- KEYS: meta, opinions by prediction_id, their times, ends of leases, holders, who has passed which
-- ARGV: person, prediction_id, action ('opinion' or 'skip'), the opinion (its person and label), most opinions,
--       milliseconds to keep who has passed which
-- Returns 'done', or why not: 'gone', 'leased' or 'waiting'
local person, id = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local before = redis.call('HGET', KEYS[2], id)
if before then -- a request that is sent again
  return ARGV[3] == 'opinion' and string.sub(before, -#ARGV[4]) == ARGV[4] and 'done' or 'gone'
end
if ARGV[3] == 'skip' and redis.call('SISMEMBER', KEYS[6], id .. ' ' .. person) == 1 then return 'done' end
local holder = redis.call('HGET', KEYS[5], id)
if not holder or tonumber(redis.call('ZSCORE', KEYS[4], id) or '0') <= now then return 'waiting' end
local whose, first = string.match(holder, '^%S+ (%S+) (.*)$')
if whose ~= person then return 'leased' end
redis.call('HDEL', KEYS[5], id)
redis.call('ZREM', KEYS[4], id)
if ARGV[3] == 'skip' then
  redis.call('SADD', KEYS[6], id .. ' ' .. person)
  redis.call('PEXPIRE', KEYS[6], ARGV[6])
  return 'done'
end
if redis.call('HEXISTS', KEYS[1], 'born') == 0 then return 'gone' end
redis.call('HSET', KEYS[2], id, string.format('%.0f', now) .. '\n' .. first .. '\n' .. ARGV[4])
redis.call('ZADD', KEYS[3], now, id)
local excess = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[5])
if excess > 0 then
  for _, old in ipairs(redis.call('ZRANGE', KEYS[3], 0, excess - 1)) do
    redis.call('HDEL', KEYS[2], old)
    redis.call('ZREM', KEYS[3], old)
  end
end
return 'done'
