"""The models with the face of scikit-learn: checks of what comes in, units, predictions, model files.

May import every room but the command line, plots and the report (which `KernelSearch.report` opens when asked).
"""
