/** The WebSocket on which a page watches the board. */
import { Fault } from '#kit/fault.ts'
import type { SocketRoute } from '#kit/http/sockets.ts'
import type { MeterFeed } from '../core/meter-feed.ts'
import type { StatusFeed, Watcher } from '../core/status-feed.ts'

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
        throw new Fault('bad_message', 'This socket only tells; send nothing.')
      })
    },
  }
}
