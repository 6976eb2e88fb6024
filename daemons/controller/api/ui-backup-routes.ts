/** Routes of backups, for elevated sessions: made and saved, sent and checked, put in place, and taken back. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import { Reply, type Route, type Upload, type UploadBounds } from '#kit/http/route.ts'
import type { BackupView } from '../core/backups.ts'
import type { UiBackups } from '../core/surfaces.ts'
import { backupAnswer, doneAnswer } from './answers.ts'
import { granted, readNothing, type UiGate } from './ui-gate.ts'

/** What these routes depend on. */
export interface UiBackupParts {
  backups: UiBackups
  /** Limits of a backup that is sent. */
  uploadBounds: UploadBounds
}

const readConfirmed = createReader(
  Type.Object(
    { name: Type.String({ maxLength: 256, description: 'of this building, as typed by who wants it' }) },
    { additionalProperties: false },
  ),
)

const TARGET = 'backup'

export function uiBackupRoutes(gate: UiGate, { backups, uploadBounds }: UiBackupParts): Route[] {
  const view = () => viewOf(backups.view())
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/backup',
      reply: backupAnswer,
      summary: 'Whether a backup is being made, sent or checked, and what was there before the last restore',
      handle: () => granted(view()),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/backup',
      body: readNothing,
      reply: backupAnswer,
      isRecordedFirst: true,
      summary: 'Begins to make a backup: all but the secrets of other machines',
      handle({ body, session }) {
        readNothing(body)
        backups.make(session.username)
        return granted(view(), TARGET)
      },
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/backup/file',
      reply: Type.String(),
      replyType: 'application/gzip',
      isRecordedFirst: true,
      summary: 'The backup that was made, as a file; hashes of passwords are in it',
      handle: () => ({ ...granted({}, TARGET), file: fileOf(backups) }),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/backup/file',
      reply: backupAnswer,
      upload: uploadBounds,
      isRecordedFirst: true,
      summary: 'Takes a backup, the body as it is, and checks all of it; nothing is changed yet',
      async handle({ body }) {
        await backups.take((body as Upload).stream)
        return granted(view(), TARGET)
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/backup/discard',
      body: readNothing,
      reply: doneAnswer,
      summary: 'Forgets the backup that was made or checked',
      handle({ body }) {
        readNothing(body)
        backups.discard()
        return granted({ success: true }, TARGET)
      },
    }),
    ...confirmedRoutes(gate, backups),
  ]
}

function confirmedRoutes(gate: UiGate, backups: UiBackups): Route[] {
  return [
    gate.elevated({
      method: 'POST',
      path: '/ui/backup/restore',
      body: readConfirmed,
      reply: doneAnswer,
      isRecordedFirst: true,
      summary:
        'Puts the checked backup in the place of everything here, and restarts; confirmed by the name of the building',
      handle({ body, session }) {
        backups.restore(readConfirmed(body).name, session.username)
        return granted({ success: true }, TARGET)
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/backup/undo',
      body: readConfirmed,
      reply: doneAnswer,
      isRecordedFirst: true,
      summary: 'Puts back what was there before the last restore, and restarts; confirmed by the name of the building',
      handle({ body, session }) {
        backups.undo(readConfirmed(body).name, session.username)
        return granted({ success: true }, TARGET)
      },
    }),
  ]
}

function viewOf({ facts, former, progress, ...view }: BackupView) {
  return {
    ...{ state: view.state, failed: view.failed, name: view.name, most_bytes: view.mostBytes },
    progress: progress && { done_bytes: progress.doneBytes, of_bytes: progress.ofBytes },
    backup: facts && {
      ...{ made_at: facts.madeAt, version: facts.version, files: facts.files, size_bytes: facts.sizeBytes },
      ...{ all_secrets: facts.hasAllSecrets, site: facts.site, zones: facts.zones, people: facts.people },
    },
    former: former && { by: former.by, at: former.at, what: former.what, made_at: former.madeAt },
  }
}

function fileOf(backups: UiBackups): Reply {
  const { bytes, facts } = backups.read()
  const place =
    (facts.site ?? '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'controller'
  const time = new Date(facts.madeAt).toISOString().slice(0, 16).replace(':', '')
  return new Reply(200, Readable.from(bytes, { objectMode: false }), {
    'content-type': 'application/gzip',
    'content-length': String(facts.sizeBytes),
    'content-disposition': `attachment; filename="${place}-${time}.plantroom.tar.gz"`,
  })
}
