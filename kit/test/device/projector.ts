/** A PJLink projector of class 1 that is played by a test, with or without a password. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Owner } from '#kit/test/running-daemon.ts'

/** What it was told, and what it is. */
export interface Projector {
  port: number
  /** Commands that it took, without the digest. */
  commands: string[]
  state: Record<'POWR' | 'INPT' | 'AVMT', string>
  sockets: Set<Socket>
  /** Set, it answers nothing. */
  isMute: boolean
}

/** @source PJLink Specifications Version 1.04, 4 (commands) and 5 (authentication) */
export async function openProjector(t: Owner, password = ''): Promise<Projector> {
  const projector: Projector = {
    port: 0,
    commands: [],
    state: { POWR: '0', INPT: '11', AVMT: '30' },
    sockets: new Set(),
    isMute: false,
  }
  const server = createServer((socket) => meet(projector, socket, password)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of projector.sockets) socket.destroy()
    server.close()
  })
  projector.port = (server.address() as AddressInfo).port
  return projector
}

function meet(projector: Projector, socket: Socket, password: string): void {
  const random = '498e4a67'
  const digest = createHash('md5')
    .update(random + password)
    .digest('hex')
  let isIn = password === ''
  let rest = ''
  projector.sockets.add(socket)
  socket.on('close', () => projector.sockets.delete(socket))
  socket.on('error', () => {})
  socket.write(isIn ? 'PJLINK 0\r' : `PJLINK 1 ${random}\r`)
  socket.setEncoding('latin1').on('data', (text: string) => {
    const lines = (rest + text).split('\r')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (projector.isMute) continue
      const command = isIn ? line : line.replace(digest, '')
      isIn ||= command !== line
      socket.write(isIn ? `${answerOf(projector, command)}\r` : 'PJLINK ERRA\r')
    }
  })
}

function answerOf(projector: Projector, line: string): string {
  projector.commands.push(line)
  const [, name = '', value = ''] = /^%1([A-Z0-9]{4}) (.*)$/.exec(line) ?? []
  if (name === 'CLSS') return '%1CLSS=1'
  if (name === 'ERST') return '%1ERST=000010'
  if (name === 'LAMP') return '%1LAMP=1234 1'
  if (name !== 'POWR' && name !== 'INPT' && name !== 'AVMT') return `%1${name}=ERR1`
  if (value === '?') return `%1${name}=${projector.state[name]}`
  if (name === 'INPT' && projector.state.POWR !== '1') return '%1INPT=ERR3'
  projector.state[name] = value
  return `%1${name}=OK`
}
