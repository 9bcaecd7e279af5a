-- Sends the requests of a file in turn; a line before each states its length.
local requests, at = {}, -1 -- wrk looks at one request before it sends the first

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  for length in function() return file:read("*l") end do
    requests[#requests + 1] = file:read(tonumber(length))
  end
  file:close()
end

function request()
  at = at % #requests + 1
  return requests[at]
end

-- Times are in microseconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "microseconds": %d, "p50": %.0f, "p99": %.0f, "bad": %d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status + errors.connect + errors.read + errors.write + errors.timeout
  ))
end
