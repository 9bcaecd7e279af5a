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

-- Times of the summary are in microseconds.
function done(summary, latency)
  local errors, seconds = summary.errors, summary.duration / 1e6
  io.write(string.format(
    '\n{"rate": %.6f, "seconds": %.6f, "p50": %.3f, "p99": %.3f, "bad": %d}\n',
    summary.requests / seconds, seconds, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout
  ))
end
