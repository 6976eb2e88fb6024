/** The controller as a process. */
import { daemon } from '#kit/run/daemon.ts'
import { checkState } from './assemble/backup.ts'
import { openAccounts, refusals, siteCommands } from './assemble/commands.ts'
import { assemble } from './assemble.ts'
import { config, DEFAULT_PORT, memory } from './config.ts'

export default daemon({
  name: 'controller',
  title: 'Building controller',
  defaultPort: DEFAULT_PORT,
  config,
  memory,
  statusPath: '/api/version',
  takesImport: true,
  commands: siteCommands,
  refusals,
  openAccounts,
  checkState,
  assemble,
})
