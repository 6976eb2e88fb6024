/** The port of NTP on this machine: answering there, asking who else answers there, and by which address a camera finds it. */
import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIP, isIPv6 } from 'node:net'
import { atMost, type Clock } from '#kit/clock.ts'
import { ownNetworkTest, plainAddress, reachableAddresses } from '#kit/net/address.ts'
import { lookupSafely } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Answerer, TimePorts } from '../core/clocks/time-server.ts'
import { ntpQuestion, readNtpAnswer } from '../wire/ntp.ts'

interface PortParts {
  clock: Clock
  /** Of the address that the server of HTTP listens on: who calls there finds the time there. */
  host: string
  port: number
  /** What the kernel may hold of questions while this process is busy; key `time_server.buffer_bytes`. */
  bufferBytes: number
  /** How long another program on this machine may take for its answer; key `time_server.answer_ms`. */
  answerMs: number
}

/** A machine has few addresses; containers have hundreds. */
const MOST_ASKED = 8

/** Networks come and go with cables and leases. */
const NETWORKS_MS = 1000

export function createTimePorts({ answerMs, bufferBytes, clock, host, port }: PortParts): TimePorts {
  let isOwn = ownNetworkTest()
  let knownMs = clock.monotonicMs()

  async function asks(address: string): Promise<boolean> {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4').unref()
    const nonce = randomBytes(8)
    const answered = Promise.withResolvers<void>()
    // Such as that nobody has the port: then nobody answers either.
    socket.on('error', () => {})
    socket.on('message', (bytes) => {
      if (readNtpAnswer(bytes, nonce)) answered.resolve()
    })
    socket.send(ntpQuestion(nonce), port, address, () => {})
    try {
      return await atMost(clock, answerMs, answered.promise)
    } finally {
      socket.close()
    }
  }

  return {
    async listen(answer) {
      const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4', recvBufferSize: bufferBytes })
      try {
        socket.bind({ port, address: host })
        await once(socket, 'listening')
      } catch (error) {
        socket.close()
        throw refused(error, port)
      }
      socket.on('error', () => {})
      answerOn(socket, answer)
      return { close: () => void socket.close() }
    },
    async isAnswered(own) {
      const all = own === undefined ? ['127.0.0.1', ...reachableAddresses().map(({ address }) => address)] : [own]
      const answers = await Promise.all(all.slice(0, MOST_ASKED).map(asks))
      return answers.includes(true)
    },
    async routeTo(name) {
      const there = await addressOf(name.replace(/^\[|\]$/g, ''))
      const socket = createSocket(isIPv6(there) ? 'udp6' : 'udp4')
      try {
        // Nothing is sent: the kernel chooses its way, and by that the address of its own that the other one sees.
        socket.connect(port, there)
        await once(socket, 'connect')
        return { own: plainAddress(socket.address().address), far: plainAddress(socket.remoteAddress().address) }
      } catch (error) {
        throw unreachable(error)
      } finally {
        socket.close()
      }
    },
    isNear(address) {
      if (clock.monotonicMs() - knownMs >= NETWORKS_MS) {
        isOwn = ownNetworkTest()
        knownMs = clock.monotonicMs()
      }
      return isOwn(address)
    },
  }
}

function answerOn(socket: Socket, answer: Answerer): void {
  socket.on('message', (bytes, { address, port }) => {
    // Port 0 is one that nobody can be answered on.
    const said = port === 0 ? undefined : answer(bytes, plainAddress(address))
    if (said) socket.send(said, port, address, () => {})
  })
}

function refused(error: unknown, port: number): Fault {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new Fault(
      'time_port_taken',
      `Another program has UDP port ${port} and gives no time when it is asked there. If that is chrony, name the network of the cameras by allow in its settings; else stop it.`,
      { cause: error },
    )
  const remedy = code === 'EACCES' ? 'Its unit allows that; else take a port from 1024 on' : 'Look at http.listen'
  return new Fault(
    'time_port_refused',
    `The recorder cannot answer on UDP port ${port} (${code ?? message}). ${remedy}.`,
    {
      cause: error,
    },
  )
}

async function addressOf(host: string): Promise<string> {
  if (isIP(host) !== 0) return host
  const { promise, reject, resolve } = Promise.withResolvers<string>()
  lookupSafely(host, {}, (error, address) => (error ? reject(unreachable(error)) : resolve(String(address))))
  return await promise
}

function unreachable(error: unknown): Fault {
  const { code, message } = error as NodeJS.ErrnoException
  return new Fault('camera_unreachable', `There is no way to the camera: ${code ?? message}.`, { cause: error })
}
