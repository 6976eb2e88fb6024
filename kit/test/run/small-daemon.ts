/** The smallest daemon, run as a process by daemon.test.ts: one TCP server, and faults by name. */
import { type AddressInfo, createServer } from 'node:net'
import { Type } from 'typebox'
import { commonTables, parseListen, urlOfListen } from '#kit/config/tables.ts'
import { Fault } from '#kit/pure/fault.ts'
import { daemon } from '#kit/run/daemon.ts'

const config = Type.Object({
  ...commonTables(3999),
  small: Type.Object({ trouble: Type.String({ default: '', description: 'what goes wrong' }) }),
})

const small = daemon({
  name: 'small',
  title: 'A small daemon',
  defaultPort: 3999,
  config,
  takesImport: true,
  commands: [
    {
      name: 'tell',
      form: 'WORD [--loud]',
      summary: 'say a word',
      help: 'Says WORD.\n  --loud             and how\n',
      words: [1, 1],
      files: { makesState: false },
      options: { loud: { type: 'boolean' } },
      async run({ config, stateFolder, words: [word = ''], options, out }) {
        if (word === 'wrong')
          throw new Fault('small_faults', 'two faults', {
            details: {
              faults: [
                { path: 'a[1].b', sentence: 'is bad' },
                { path: '', sentence: 'is late' },
              ],
              more: 3,
            },
          })
        out(`${options.has('loud') ? word.toUpperCase() : word} ${config.small.trouble} ${stateFolder}\n`)
        return 1
      },
    },
  ],
  refusals: ['small_faults'],
  async assemble({ config, parts, log, clock, restart, importFile }) {
    if (importFile !== undefined) log.notice('would import', { file: importFile })
    const server = createServer()
    const { trouble } = config.small
    const { host, port } = parseListen(config.http.listen)
    parts.add({
      name: 'server',
      start: () => new Promise((resolve) => server.listen(port, host, resolve)),
      stop: () => new Promise((resolve) => server.close(() => resolve())),
    })
    parts.add({
      name: 'asked',
      // Before it reports that it listens: whoever reads that may call at once.
      start() {
        if (!trouble.startsWith('restart')) return
        process.once('SIGUSR2', () => {
          const { port } = server.address() as AddressInfo
          restart({ reason: 'asked', args: ['--listen', `127.0.0.1:${port}`] })
        })
      },
      stop() {},
    })
    parts.add({
      name: 'tell',
      start: () =>
        log.notice('listening', { url: urlOfListen({ host, port: (server.address() as AddressInfo).port }) }),
      stop() {},
    })
    parts.add({
      name: 'trouble',
      start() {
        if (trouble === 'start') throw new Fault('small_trouble', 'the line is cut')
        if (trouble === 'part') parts.own(Promise.reject(new Error('it broke')), 'pump')
        if (trouble === 'throw') clock.after(1, () => JSON.parse('{'))
        if (trouble === 'child') log.notice('seen', { NOTIFY_SOCKET: process.env.NOTIFY_SOCKET ?? 'nothing' })
      },
      stop: () => (['stop', 'hang', 'restart-slowly'].includes(trouble) ? new Promise(() => {}) : undefined),
      stopDeadlineMs: { hang: 60_000, 'restart-slowly': 1000 }[trouble] ?? 50,
    })
    return { status: () => 'all is well' }
  },
})

process.exit(await small.run(process.argv.slice(2)))
