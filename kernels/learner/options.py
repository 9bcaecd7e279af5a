"""The hyper-parameters as the kernels read them: a flat array, and the index of each."""

ETA = 0
R = 1
DELTA = 2
LAMBDA0 = 3  # lambda as set; the schedule turns it into lambda_t
SCHEDULE = 4
TARGET = 5  # target sparsity; 0 if lambda is used
COST_POSITIVE = 6
COST_NEGATIVE = 7
AUTO_COSTS = 8
ODDS = 9  # mu_positive / (1 - mu_positive)
COORDINATE = 10  # 1: a denominator per coordinate
ON_THETA = 11  # 1: threshold on theta, not on u
KEEP = 12  # 1 - forgetting
TRUNCATE_EVERY = 13
TRUNCATE_BELOW = 14
LIMIT = 15  # most features in the table
HALVED = 16  # with AUTO_COSTS: the class ratio that counts for about half
SIZE = 17

# Values of SCHEDULE, in the order of their names in the API.
SCHEDULES = ("constant", "eta", "inverse_t", "sqrt_t", "linear")
CONSTANT, TIMES_ETA, INVERSE_T, SQRT_T, LINEAR = range(5)
