"""The hyper-parameters as kernels read them: a flat array with a named place for each."""

ETA = 0
R = 1
DELTA = 2
LAMBDA0 = 3  # the lambda that was set; the schedule makes lambda_t of it
SCHEDULE = 4
TARGET = 5  # target sparsity, 0 where lambda is used
COST_POSITIVE = 6
COST_NEGATIVE = 7
AUTO_COSTS = 8
ODDS = 9  # mu_positive / (1 - mu_positive)
COORDINATE = 10  # 1: the denominator of each coordinate alone
ON_THETA = 11  # 1: threshold on theta, not on u
KEEP = 12  # 1 - forgetting
TRUNCATE_EVERY = 13
TRUNCATE_BELOW = 14
LIMIT = 15  # features at most
SIZE = 16

# Values of SCHEDULE, in the order of the contract's names.
SCHEDULES = ("constant", "eta", "inverse_t", "sqrt_t", "linear")
CONSTANT, TIMES_ETA, INVERSE_T, SQRT_T, LINEAR = range(5)
