/** Asks the networks of this machine for cameras: WS-Discovery over multicast, with bounds on what is heard. */
import { randomUUID } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { chooseLinks } from '#kit/net/mdns/sockets.ts'
import { checkTargetHost } from '#kit/net/target.ts'
import type { Prober } from '../core/cameras/discovery.ts'
import { DISCOVERY_GROUP, DISCOVERY_PORT, probeText, readProbeMatches } from '../wire/ws-discovery.ts'

/** Bounds of one scan, by the names of their settings. */
export interface ProbeLimits {
  waitMs: number
  /** Datagrams that are read, in all and of one address. */
  answers: number
  answersPerAddress: number
}

interface ProberParts {
  clock: Clock
  log: Log
  limits: ProbeLimits
  /** Name or address of the only interface that is asked; empty: all. */
  wanted: string
}

/** A longer answer is none of one camera. */
const MOST_DATAGRAM_BYTES = 16_384

/** Datagrams get lost, and cameras that sleep miss the first: it is asked so often within the first half of the wait. */
const QUESTIONS = 3

export function createProber({ clock, limits, log, wanted }: ProberParts): Prober {
  return {
    async probe(onMatch) {
      const messageId = `urn:uuid:${randomUUID()}`
      const question = Buffer.from(probeText(messageId))
      const mayRead = createAnswerBudget(limits)
      const sockets = new Set<Socket>()

      function hear(bytes: Uint8Array, address: string): void {
        if (bytes.length > MOST_DATAGRAM_BYTES || !mayRead(address)) return
        try {
          checkTargetHost(address)
          for (const match of readProbeMatches(new TextDecoder().decode(bytes), messageId)) onMatch(match, address)
        } catch (fault) {
          log.debug('an answer to the search for cameras is left out', { address, fault })
        }
      }

      // Each has a port of its own, to which cameras answer, so that nothing listens between scans.
      for (const { address, name } of chooseLinks(networkInterfaces(), wanted)) {
        try {
          const socket = await openSpeaker(address)
          socket.on('message', (bytes, { address: from }) => hear(bytes, from))
          socket.on('error', (fault) => log.warning('cameras are not searched', { interface: name, fault }))
          sockets.add(socket)
        } catch (fault) {
          log.warning('cameras are not searched', { interface: name, fault })
        }
      }
      const ask = () => {
        for (const socket of sockets) socket.send(question, DISCOVERY_PORT, DISCOVERY_GROUP, () => {})
      }
      const over = Promise.withResolvers<void>()
      ask()
      const timers = Array.from({ length: QUESTIONS - 1 }, (_, at) =>
        clock.after(((at + 1) * limits.waitMs) / (2 * (QUESTIONS - 1)), ask),
      )
      timers.push(clock.after(limits.waitMs, over.resolve))
      await over.promise
      for (const timer of timers) timer.cancel()
      for (const socket of sockets) socket.close()
      return sockets.size
    },
  }
}

async function openSpeaker(address: string): Promise<Socket> {
  const socket = createSocket({ type: 'udp4' })
  try {
    socket.unref().bind({ address, port: 0 })
    await once(socket, 'listening')
    socket.setMulticastInterface(address)
    // Cameras are on the same network; what routers pass on is another building's.
    socket.setMulticastTTL(1)
    return socket
  } catch (error) {
    socket.close()
    throw error
  }
}

/** One host that floods takes no answer of another's. */
function createAnswerBudget({ answers, answersPerAddress }: ProbeLimits): (address: string) => boolean {
  const heard = new Map<string, number>()
  let all = 0
  return (address) => {
    const ofIt = heard.get(address) ?? 0
    if (all >= answers || ofIt >= answersPerAddress) return false
    all++
    heard.set(address, ofIt + 1)
    return true
  }
}
