/** The recorder's entry point. */
import { daemon } from '#kit/run/daemon.ts'
import { storageCommands } from './assemble/storage-commands.ts'
import { assemble, openAccounts } from './assemble.ts'
import { config, DEFAULT_PORT, memory } from './config.ts'

export default daemon({
  name: 'recorder',
  title: 'Video recorder',
  defaultPort: DEFAULT_PORT,
  config,
  memory,
  commands: storageCommands,
  refusals: ['no_footage', 'unknown_camera', 'camera_masked', 'bad_span', 'footage_away'],
  openAccounts,
  assemble,
})
