/** Puts together the licence of this recorder, where it is licensed at all. */
import type { Conditions } from '#kit/records/ledger-entry.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { RecorderConfig } from '../config.ts'
import { Licence } from '../core/licence/licence.ts'
import type { LicenceState } from '../core/licence/states.ts'
import { openLicenceFile, openProof } from '../io/licence-files.ts'
import { createLicenceServer } from '../io/licence-server.ts'

interface LicenceNeeds {
  conditions: Conditions
  /** How many cameras are there. */
  cameras(): number
  onChange(state: LicenceState): void
}

/** @returns undefined if no key of a vendor is set */
export async function licenceOf(
  { clock, config, log, stateFolder, version }: AssembleContext<RecorderConfig>,
  { cameras, conditions, onChange }: LicenceNeeds,
): Promise<Licence | undefined> {
  const { license: wanted } = config
  if (wanted.vendor_key_file === '') return undefined
  const { file, installation } = await openLicenceFile({ clock, folder: stateFolder, log })
  const url = wanted.server_url.replace(/\/$/, '')
  return new Licence({
    ...{ clock, chance: Math.random, file, installation, cameras, conditions, version },
    proof: await openProof(wanted.vendor_key_file, log),
    server: url === '' ? undefined : createLicenceServer({ clock, url, answerMs: wanted.answer_ms }),
    limits: {
      renewMs: wanted.renew_s * 1000,
      retry: {
        firstMs: wanted.retry_first_s * 1000,
        maxMs: Math.max(wanted.retry_first_s, wanted.retry_max_s) * 1000,
      },
      clockSaveMs: wanted.clock_save_s * 1000,
    },
    onChange(state) {
      log.notice('license', { state })
      onChange(state)
    },
  })
}
