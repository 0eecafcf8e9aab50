-- Makes wrk say when answers were not what they should be.
done = function(summary)
  if summary.errors.status > 0 then
    io.write("Non-2xx: " .. summary.errors.status .. "\n")
  end
end
