/** The memory budget of the update server, row by row; docs/updates.md has the table. */
import {
  houseRows,
  KIB,
  type MemoryPlan,
  type MemoryRow,
  MIB,
  NODE_TASKS,
  serverRows,
  signInRows,
  threadRow,
  tlsRow,
} from '#kit/pure/memory-plan.ts'

/** Of the thread that writes the database. */
export const WRITER_HEAP_MIB = { old: 128, young: 16 }

/** Records that are read from, or written to, a shared database at once. */
export const PAGE_RECORDS = 500

/** What is read of a file at once. @source measured: 0.30 processor seconds a gigabyte, 0.40 with half of it, 1.0 with 64 KiB */
export const PIECE_BYTES = 1024 * KIB

/** What is gathered to be written and being written, what Node has read beside it, and the chunk that is being proven. */
const UPLOAD_BYTES = (2 * 256 + 8 * 64) * KIB

/** Of an artifact as bytes and as text. @source measured */
const TEXT_TIMES = 4
/** Of one of its values, the smallest ones. @source measured */
const VALUE_BYTES = 96

/** With eight versions that it reported on. */
const INSTALLATION_BYTES = 6 * KIB

export function memoryPlan(): MemoryPlan {
  return {
    idleBytes: 96 * MIB,
    garbage: 0.25,
    // Three times what scripts/bundle.ts allows for a half of it.
    youngBytes: 6 * MIB,
    rows: [
      ...serverRows(),
      tlsRow(),
      ...signInRows(),
      ...houseRows(),
      ...registryRows(),
      ...fileRows(),
      threadRow(
        'the thread that writes the database',
        WRITER_HEAP_MIB.old + WRITER_HEAP_MIB.young,
        'kit/test/store/sqlite-writer.test.ts',
      ),
    ],
    tasks: {
      'Node and V8': NODE_TASKS,
      'threads that hash passwords': 'http.password_workers',
      'the thread that writes the database': 1,
    },
  }
}

function registryRows(): MemoryRow[] {
  return [
    {
      ...{ what: 'installations', of: 'installation', each: INSTALLATION_BYTES, isHeap: true },
      many: (setting) => setting('registration.max') + setting('registration.pending_max'),
      shownBy: 'daemons/updates/test/core/registry/registry.test.ts',
    },
    {
      ...{ what: 'addresses that registered installations', of: 'address', each: KIB / 4, isHeap: true },
      many: 'registration.addresses',
      shownBy: 'daemons/updates/test/core/registry/registry.test.ts',
    },
    {
      ...{ what: 'releases', of: 'release', each: 8 * KIB, many: 'releases.max', isHeap: true },
      shownBy: 'daemons/updates/test/core/releases/releases.test.ts',
    },
    {
      ...{ what: 'deltas of updates', of: 'delta', each: 2 * KIB, isHeap: true },
      many: (setting) => setting('releases.max') * setting('releases.deltas'),
      shownBy: 'daemons/updates/test/core/releases/deltas.test.ts',
    },
    {
      ...{ what: 'artifacts', of: 'artifact', each: 8 * KIB, many: 'artifacts.max', isHeap: true },
      shownBy: 'daemons/updates/test/core/artifacts/artifacts.test.ts',
    },
  ]
}

function fileRows(): MemoryRow[] {
  return [
    {
      // As text and as objects, of what others wrote and of what is written.
      ...{
        what: 'records of a shared database that are read and written',
        all: 2 * 3 * PAGE_RECORDS * INSTALLATION_BYTES,
      },
      ...{ isHeap: true, shownBy: 'daemons/updates/test/io/store.test.ts' },
    },
    {
      ...{ what: 'files that are sent', of: 'download', each: PIECE_BYTES },
      many: (setting) => setting('downloads.total') + setting('downloads.installers'),
      shownBy: 'daemons/updates/test/updates.e2e.test.ts',
    },
    {
      // Gathered until they are sent, with those of artifacts.
      ...{ what: 'parts of files for a bucket', of: 'upload', each: (setting) => setting('blobs.part_bytes') + MIB },
      many: (setting) => setting('uploads.at_once') + setting('artifacts.at_once'),
      shownBy: 'daemons/updates/test/io/files.test.ts',
    },
    {
      ...{ what: 'files that are published', of: 'upload', each: UPLOAD_BYTES, many: 'uploads.at_once' },
      shownBy: 'daemons/updates/test/core/releases/publishing.test.ts',
    },
    {
      ...{ what: 'artifacts that are checked', of: 'artifact', many: 'artifacts.at_once', isHeap: true },
      each: (setting) => TEXT_TIMES * setting('artifacts.file_bytes') + VALUE_BYTES * setting('artifacts.values'),
      shownBy: 'daemons/updates/test/api/artifact-json.test.ts',
    },
  ]
}
