"""The differences of operating systems: the functions of `posix`, or of `windows`, under the same names.

Nothing else imports modules that only one of them has. `windows` is checked for types, and by the same tests
as `posix` with a stand-in for its locks, but has not run on Windows.
"""

import sys

if sys.platform == "win32":
    from qmd.system import windows as here
else:
    from qmd.system import posix as here

NO_LINK = here.NO_LINK
kill = here.kill
limit_reading = here.limit_reading
limit_time = here.limit_time
lower_priority = here.lower_priority
publish = here.publish
memory_limit = here.memory_limit
raise_file_limit = here.raise_file_limit
read_start = here.read_start
resume = here.resume
set_mode = here.set_mode
share_with_child = here.share_with_child
trim_memory = here.trim_memory
try_lock = here.try_lock
user_id = here.user_id
write_start = here.write_start
