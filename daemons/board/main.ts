/** The network board as a process. */
import { daemon } from '#kit/run/daemon.ts'
import { assemble } from './assemble.ts'
import { config, DEFAULT_PORT, memory } from './config.ts'

export default daemon({
  name: 'board',
  title: 'Network board',
  defaultPort: DEFAULT_PORT,
  config,
  memory,
  onlyUser: 'admin',
  assemble,
})
