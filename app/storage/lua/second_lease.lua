-- Lease predictions for a blind second review: the first of some candidates that nobody has judged or holds.
-- KEYS: meta, opinions by prediction_id, their times, ends of leases, holders, who has passed which
-- ARGV: person, lease, milliseconds of the lease, most items, then for each candidate: its prediction_id, what is known
--       of its first label
-- Returns {end of the lease, how many candidates wait for this person, then the ids leased}. A prediction that is not
--       kept any more cannot be shown, so it does not count.
local person, lease, most = ARGV[1], ARGV[2], tonumber(ARGV[4])
if redis.call('HEXISTS', KEYS[1], 'born') == 0 then return {'0', 0} end
local prefix = string.sub(KEYS[1], 1, -6) -- without ':meta'
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now)) do
  redis.call('HDEL', KEYS[5], id)
  redis.call('ZREM', KEYS[4], id)
end
local ends = string.format('%.0f', now + tonumber(ARGV[3]))
local found, open = {}, 0
for i = 5, #ARGV, 2 do
  local id = ARGV[i]
  local holder = redis.call('HGET', KEYS[5], id)
  local is_own = holder and string.match(holder, '^%S+ (%S+)') == person
  local block = string.match(id, '^(%w+%-%w+)%-') or ''
  local is_kept = redis.call('EXISTS', prefix .. ':pending:' .. block) == 1
  local is_passed = redis.call('SISMEMBER', KEYS[6], id .. ' ' .. person) == 1
  if is_kept and not is_passed and redis.call('HEXISTS', KEYS[2], id) == 0 then
    if not holder or is_own then open = open + 1 end
    if #found < most and (not holder or is_own) then -- a page that was loaded again gets the same item
      redis.call('HSET', KEYS[5], id, lease .. ' ' .. person .. ' ' .. ARGV[i + 1])
      redis.call('ZADD', KEYS[4], ends, id)
      found[#found + 1] = id
    end
  end
end
local keep = 2 * tonumber(ARGV[3])
if #found > 0 then
  for _, key in ipairs({KEYS[4], KEYS[5]}) do redis.call('PEXPIRE', key, math.max(keep, redis.call('PTTL', key))) end
end
return {ends, open, unpack(found)}
