/** The update server's entry point. */
import { daemon } from '#kit/run/daemon.ts'
import { assemble, keptElsewhere } from './assemble.ts'
import { config, DEFAULT_PORT, memory } from './config.ts'

export default daemon({
  name: 'updates',
  title: 'Update server',
  defaultPort: DEFAULT_PORT,
  config,
  memory,
  onlyUser: 'admin',
  refusals: ['bad_password_file'],
  keptElsewhere,
  assemble,
})
