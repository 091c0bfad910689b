"""raises SECONDS: computes, and ends with an error in its input."""
import work

work.compute_until(work.seconds())
raise ValueError("the input has no variable 'temperature'")
