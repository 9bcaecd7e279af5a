-- Keep the outcomes of events, each only if the record of its feedback_id still names that event.
-- KEYS: the record of each feedback_id
-- ARGV: the beginning of the keys of outcomes, milliseconds to keep them, then for each event: version, fingerprint,
--       outcome
-- The outcomes of 128 versions are one hash: so small that the store keeps it as one compact string.
local written = {}
for i = 1, #KEYS do
  local version, fingerprint, outcome = ARGV[3 * i], ARGV[3 * i + 1], ARGV[3 * i + 2]
  if redis.call('GET', KEYS[i]) == version .. ' ' .. fingerprint then
    local number = tonumber(version)
    local block = ARGV[1] .. string.format('%.0f', math.floor(number / 128))
    redis.call('HSET', block, string.format('%.0f', number % 128), outcome)
    written[block] = true
  end
end
for block in pairs(written) do redis.call('PEXPIRE', block, ARGV[2]) end
return #KEYS
