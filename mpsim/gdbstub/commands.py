# Commands of gdb for a run that `hindsight gdb` serves: when, goto, race, lastwrite.
# They pass a monitor command on and show the place where the run stands then.

import re
import gdb


def _monitor(line, moves):
    text = gdb.execute("monitor " + line, to_string=True)
    gdb.write(text)
    place = re.search(r"^thread (\d+): ", text, re.M)
    if not moves or not place:
        return
    # The thread that gdb looks at may not exist at the new place. So the threads come
    # first, then the other thread, and only then what gdb remembers is forgotten.
    try:
        gdb.execute("info threads", to_string=True)
    except gdb.error:
        pass
    for thread in gdb.selected_inferior().threads():
        if int(place[1]) in thread.ptid[1:]:
            thread.switch()
    gdb.execute("maintenance flush register-cache", to_string=True)
    gdb.execute("maintenance flush dcache", to_string=True)
    gdb.execute("frame")


class When(gdb.Command):
    """when: the time, which is the number of instructions executed so far."""

    def __init__(self):
        super().__init__("when", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        _monitor("when", False)


class Goto(gdb.Command):
    """goto TIME|begin|end: stand at a time of the run, forward or back."""

    def __init__(self):
        super().__init__("goto", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        _monitor("goto " + argument, True)


class Race(gdb.Command):
    """race R1 [1|2]: stand just before the earlier (1) or later (2) access of a race."""

    def __init__(self):
        super().__init__("race", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        _monitor("race " + argument, True)


class LastWrite(gdb.Command):
    """lastwrite EXPRESSION: who wrote the object last, before now."""

    def __init__(self):
        super().__init__("lastwrite", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        value = gdb.parse_and_eval(argument)
        if value.address is None:
            raise gdb.GdbError("lastwrite: this expression is not in memory")
        _monitor("lastwrite %#x %d" % (int(value.address), value.type.sizeof), False)


When()
Goto()
Race()
LastWrite()
