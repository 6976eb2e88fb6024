/** The WebSocket on which a page watches the board. */
import { Fault } from '#kit/fault.ts'
import type { SocketRoute } from '#kit/http/sockets.ts'
import type { StatusFeed } from '../core/status-feed.ts'

export function statusSocketRoute({ feed }: { feed: StatusFeed }): SocketRoute {
  return {
    path: '/ws',
    who: 'admin',
    summary: 'How the board is: at once, when something changes, and every second; at most four times a second',
    open(socket) {
      const end = feed.watch({
        send: (text) => socket.send(text),
        get hasCaughtUp() {
          return socket.bufferedBytes === 0
        },
      })
      socket.onClose(end)
      socket.onMessage(() => {
        throw new Fault('bad_message', 'This socket only tells; send nothing.')
      })
    },
  }
}
