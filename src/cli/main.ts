#!/usr/bin/env node
// The command `tock`. Exit codes: 0 ok, 1 failed, 2 usage error, 3 database unreachable. Text or JSON goes to
// standard output, logs and errors to standard error.
import { runProgram } from './program.js';
import { endOutput, surviveClosedPipes } from './terminal.js';

surviveClosedPipes();
const exitCode = await runProgram(process.argv.slice(2));
await endOutput();
// A handler executed here may have left a timer or socket open, which must not keep the command alive.
process.exit(exitCode);
