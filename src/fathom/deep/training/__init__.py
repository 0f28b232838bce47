"""Learning a deep GP: steps on minibatches, the loop around them, schedules, checkpoints, calibration."""
