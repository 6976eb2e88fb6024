/** The board's status: on request, over a WebSocket, and as metrics for Prometheus. */

import type { Metrics } from '#kit/http/metrics.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { SocketRoute } from '#kit/http/sockets.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { BoardStatus, MeterFeed, StatusFeed, Watcher } from '../core/status.ts'
import { boardStatusAnswer } from './answers.ts'

export function statusRoutes({ status }: { status(): BoardStatus }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/status',
      who: 'admin',
      summary: 'Live state',
      reply: boardStatusAnswer,
      handle: () => status(),
    }),
  ]
}

// The WebSocket for pages that watch the board.

/** @param feeds.meters absent in a role without sound */
export function statusSocketRoute({ feed, meters }: { feed: StatusFeed; meters?: MeterFeed }): SocketRoute {
  return {
    path: '/ws',
    who: 'admin',
    summary:
      'How the board is: at once, when something changes, and every second; at most four times a second; in a role with sound its levels too',
    open(socket) {
      const watcher: Watcher = {
        send: (text) => socket.send(text),
        get hasCaughtUp() {
          return socket.bufferedBytes === 0
        },
      }
      const ends = [feed.watch(watcher), meters?.watch(watcher)]
      socket.onClose(() => {
        for (const end of ends) end?.()
      })
      socket.onMessage(() => {
        throw new Fault('bad_message', 'This socket only sends events; it takes no messages.')
      })
    },
  }
}

// Metrics of the board and its machine.

/** Adds the metrics; unknown values are left out, never 0. */
export function measureBoard(metrics: Metrics, status: () => BoardStatus): void {
  const one = (name: string, help: string, read: (status: BoardStatus) => number | null | undefined) =>
    metrics.gauge({ name: `board_${name}`, help }, () => {
      const value = read(status())
      return value === null || value === undefined ? [] : [{ labels: {}, value }]
    })
  metrics.gauge(
    { name: 'board_info', help: 'What the board is', labels: ['role', 'name', 'hostname', 'version'] },
    () => {
      const { role, name, hostname, version } = status()
      return [{ labels: { role, name, hostname, version }, value: 1 }]
    },
  )
  metrics.gauge({ name: 'board_verdict', help: '1 for the state that the board is in', labels: ['state'] }, () =>
    oneOf(['ok', 'busy', 'warn', 'fault', 'off'], status().verdict.state),
  )
  metrics.gauge({ name: 'board_network', help: '1 for the state of its address', labels: ['state'] }, () =>
    oneOf(['not_owned', 'dhcp', 'unconfirmed', 'static', 'fallen_back', 'refused'], status().network.state),
  )
  metrics.gauge({ name: 'board_last_start', help: 'When and why it started', labels: ['reason'] }, () => {
    const { at, reason } = status().last_start
    return [{ labels: { reason }, value: at / 1000 }]
  })
  one('uptime_seconds', 'Time since the daemon started', ({ uptime_s }) => uptime_s)
  one('temperature_celsius', 'The hottest sensor of the machine', ({ temperature_c }) => temperature_c)
  one('memory_total_bytes', 'Memory of the machine', ({ memory }) => memory.total_bytes)
  one('memory_available_bytes', 'Memory that programs can still have', ({ memory }) => memory.available_bytes)
  one('load1', 'Mean load of one minute', ({ load }) => load[0])
  one('time_synchronised', '1 where the clock follows a time server', ({ time }) =>
    time.synchronised === null ? null : Number(time.synchronised),
  )
}

function oneOf(states: readonly string[], now: string): { labels: { state: string }; value: number }[] {
  return states.map((state) => ({ labels: { state }, value: Number(state === now) }))
}
