/**
 * A daemon for tests of the command line: it answers /api/status, and does not start with state of the next version.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Type } from 'typebox'
import { commonTables, parseListen } from '#kit/config/tables.ts'
import { Fault } from '#kit/pure/fault.ts'
import { daemon } from '#kit/run/daemon.ts'

export default daemon({
  name: 'small',
  title: 'A small daemon',
  defaultPort: 3999,
  config: Type.Object(commonTables(3999)),
  checkState(folder) {
    const file = join(folder, 'small.txt')
    if (existsSync(file) && readFileSync(file, 'utf8') === 'of the next version')
      throw new Fault('bad_backup', 'small.txt in the backup is of the next version')
  },
  async assemble({ config, parts, version }) {
    const server = createServer((_, answer) =>
      answer.end(JSON.stringify({ name: 'Boiler room', version, uptimeMs: 65_000 })),
    )
    const { host, port } = parseListen(config.http.listen)
    parts.add({
      name: 'http',
      start: () => new Promise((resolve) => server.listen(port, host, resolve)),
      stop: () => new Promise((resolve) => server.close(() => resolve())),
    })
    return { status: () => 'fine' }
  },
})
