// `tock mcp`: answers an agent over standard input and output, by the Model Context Protocol, until the
// agent has gone.
import { existsSync } from 'node:fs';
import { Writable } from 'node:stream';
import { type Command, Option } from 'commander';
import { includesRole, ROLES, type Role } from '../../../model/operator.js';
import { stopSignal } from '../../../runtime/stop-signal.js';
import { examples } from '../../flags/flags.js';
import { operatorOfCommand } from '../../operator-of-command.js';
import { action, type CommonOptions, keepStandardOutputClean, type Shell, withTock } from '../../shell.js';

interface McpFlags extends CommonOptions {
  readonly role: Role;
  readonly payloads?: true;
}

/** One of its statements may take so long, unless TOCK_STATEMENT_TIMEOUT says otherwise: as on a page. */
const STATEMENT_TIMEOUT = '5s';

export function addMcp(program: Command): Command {
  return program
    .command('mcp')
    .summary('answer an agent, by the Model Context Protocol')
    .description(
      'Serves tools to an agent over standard input and output: what is wrong and why, lists, and with the role operate or admin also acts, which are audited under the agent’s name. What changes many is a dry run first. Executes no runs. Needs the package @modelcontextprotocol/server. See docs/agents.md.',
    )
    .addOption(new Option('--role <role>', 'what the agent may do').choices(ROLES).default('view'))
    .option('--payloads', 'show it payloads, outputs and logs, which may be confidential')
    .addHelpText(
      'after',
      examples(
        ['tock mcp', 'what a client of the protocol starts: the agent may look'],
        ['tock mcp --role operate', 'it may also retry, cancel, pause, resume and run now'],
      ),
    )
    .action(action(mcp));
}

async function mcp(shell: Shell, { role, payloads }: McpFlags): Promise<number> {
  // Loaded only here: few commands speak the protocol.
  const [{ loadSdk }, { serveMcp }] = await Promise.all([
    import('../../../mcp/load-sdk.js'),
    import('../../../mcp/serve.js'),
  ]);
  const sdk = await loadSdk();
  const output = takeStandardOutput();
  const stop = stopSignal();
  const { config } = shell;
  const { jobsModule } = config;
  const needsJobs = includesRole(role, 'operate') && jobsModule !== null && existsSync(jobsModule);
  const statementTimeout = config.statementTimeout ?? STATEMENT_TIMEOUT;
  const bounded = { ...shell, config: { ...config, statementTimeout } };
  return await withTock(bounded, { needsJobs, keepServer: true }, async ({ tock }) => {
    await serveMcp({
      sdk,
      tock,
      role,
      seesPayloads: payloads === true,
      actor: operatorOfCommand(config).name,
      schema: config.schema,
      readUrl: config.readUrl,
      input: process.stdin,
      output,
      stop,
      note: text => shell.note(text),
    });
    return 0;
  });
}

/** The protocol's alone from now on: what a job module prints goes to standard error. */
function takeStandardOutput(): Writable {
  keepStandardOutputClean();
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return new Writable({
    write: (chunk: Uint8Array, _encoding, done) => {
      write(chunk, error => done(error));
    },
  });
}
