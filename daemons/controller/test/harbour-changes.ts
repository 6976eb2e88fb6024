/** Pending changes in Harbour House: a renamed zone, a device with a secret, and one that does not fit. */
import type { PendingChange } from '../core/surfaces.ts'

export const changes: PendingChange[] = [
  {
    id: 1,
    at: Date.now(),
    by: 'sam',
    kind: 'change',
    table: 'zone',
    rowId: 7,
    name: 'Lobby',
    columns: [
      { column: 'name', isSecret: false, before: 'Lobby', after: 'Lobby east' },
      { column: 'position', isSecret: false, before: null, after: 4 },
    ],
  },
  {
    id: 2,
    at: Date.now(),
    by: 'import',
    kind: 'add',
    table: 'device',
    rowId: null,
    name: 'Projector',
    columns: [
      { column: 'transport', isSecret: false, before: null, after: { kind: 'tcp', host: '10.20.4.9', port: 4352 } },
      { column: 'password', isSecret: true, before: null, after: null },
    ],
  },
  { id: 3, at: Date.now(), by: 'import', kind: 'remove', table: 'zone', rowId: 9, name: 'refused', columns: [] },
]
