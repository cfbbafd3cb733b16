#!/usr/bin/env node
// Room: cli. The command `tock`.
// In: the arguments and the environment. Out: text or JSON on standard output, logs and errors on standard
// error, an exit code: 0 ok, 1 failed, 2 usage, 3 database unreachable.
import { runProgram } from './program.js';
import { endOutput, surviveClosedPipes } from './terminal.js';

surviveClosedPipes();
const exitCode = await runProgram(process.argv.slice(2));
await endOutput();
// A handler executed here may have left a timer or socket open, which must not keep the command alive.
process.exit(exitCode);
