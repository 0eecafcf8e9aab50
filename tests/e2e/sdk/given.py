"""given.py N: runs the program that comes on standard input N times, each time as if it were this one."""
import sys

program = compile(sys.stdin.read(), 'given', 'exec')
for _ in range(int(sys.argv[1])):
    exec(program, {'__name__': '__main__'})  # pylint: disable=exec-used
