/** A daemon for the tests of the command line: it answers /api/status and nothing else. */
import { createServer } from 'node:http'
import { Type } from 'typebox'
import { commonTables } from '#kit/config/common.ts'
import { parseListen } from '#kit/config/listen.ts'
import { daemon } from '#kit/run/daemon.ts'

export default daemon({
  name: 'small',
  title: 'A small daemon',
  defaultPort: 3999,
  config: Type.Object(commonTables(3999)),
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
