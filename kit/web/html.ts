/** The template tag of every page: htm bound to Preact. */
import { html } from 'htm/preact'
import type { VNode } from 'preact'

/**
 * Creates elements from a template: `<a href=${x}>`, components as `<${Name} a=${b} />`. No build step, no string
 * markup.
 */
export { html }

/** What an element may contain. */
export type Child = VNode | string | number | null | undefined | false | Child[]
