/** The saved settings and their form, for the pages that change them. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { say } from '#kit/web/lamp.ts'
import { useLook } from '#kit/web/look.ts'
import { api, type Config, type ConfigForm } from './api.ts'

/** Asked again only until both answers are there. */
const AGAIN_MS = 3000

/** @returns what is saved once it is known, and what a page says until then */
export function useSettings(): { known: { config: Config; form: ConfigForm } | null; words: VNode } {
  const [known, setKnown] = useState<{ config: Config; form: ConfigForm } | null>(null)
  const { refused } = useLook(async () => {
    if (known) return
    // Its revision first: settings that are newer than it are refused when they are saved, and not lost.
    const form = await api.configForm()
    const config = await api.config()
    setKnown({ config, form })
  }, AGAIN_MS)
  const words =
    refused === null
      ? say('busy', 'Asking the board for its settings', 'This usually takes less than a second.')
      : say('fault', 'The settings could not be read', refused)
  return { known, words }
}
