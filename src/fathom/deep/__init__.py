"""Sparse and deep Gaussian processes without a method of learning: the parts that every method puts together.

- `layer`: from inputs to the mean and variance of outputs, by what is believed of inducing values. `build`: its start.
- `propagate`: how a hidden value passes on. `objective`: what training makes large. `model` holds the three.
- `moments`: a layer at uncertain inputs. `laplace`: a Gaussian about point values. `features`: a network in front.
- `predict`, `ensemble`, `functions`: answers of one model, of several, and whole functions.
- `training/`: the loop, its steps and schedules.

May import `sparse` and what is below it, and `likelihoods`.
"""
