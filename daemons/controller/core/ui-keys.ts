/** Keys of the table `ui` in controller.toml. */
import { Type } from 'typebox'
import { count } from './limit.ts'

/** How much of the building a page is told, and how often. */
export const uiKeys = Type.Object(
  {
    coalesce_ms: count('ms', 50, [10, 10_000], 'changes are gathered for so long before a page is told'),
    beat_ms: count('ms', 2000, [500, 3000], 'time between two signs of life; a page calls 7 s without one silent'),
    zones_per_message: count('', 500, [1, 10_000], 'zones told in one message'),
    waiting_zones: count('', 20_000, [1, 100_000], 'zones that may wait to be told; beyond, a page asks for all'),
    sockets_per_session: count('', 8, [1, 64], 'pages open at once for one session'),
    ticket_life_ms: count('ms', 15_000, [1000, 60_000], 'how long a page has to open its socket'),
    max_tickets: count('', 1024, [16, 65_536], 'pages that may be opening their socket at once'),
  },
  { additionalProperties: false, default: {}, description: 'the pages' },
)
