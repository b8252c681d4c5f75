/** Manages the discovery files and environment variables of all profiles together. */
import { isAbsolute } from "node:path";
import type { Log } from "../base/log.ts";
import type { Profile } from "../profiles/profiles.ts";
import { type Announcement, discoveryVariables, foreignVariables, listsAny } from "./content.ts";
import { createDiscovery, type Discovery } from "./keep-file.ts";
import { DiscoveryError } from "./private-directory.ts";
import { canBeJoined } from "./workspace.ts";

export interface Announcements extends Omit<Discovery, "path"> {
  /** Paths of the discovery files. */
  readonly paths: string[];
  /**
   * Returns the environment for CLIs in this editor: the variables to set, and the names of variables to unset because
   * they would lead a CLI to another editor.
   */
  variables(open: readonly string[]): { set: Record<string, string>; unset: string[] };
}

interface AnnouncementsOptions {
  profiles: readonly Profile[];
  /** Returns the data for the discovery file of a profile. */
  announcement: (profile: Profile) => Announcement;
  log: Log;
  /** Called when a discovery file cannot be written, unless it is the file of the first profile. */
  failed: (profile: Profile, error: DiscoveryError) => void;
}

/** Errors of the first profile's file are thrown. Errors of other files go to `failed`. */
export function createAnnouncements(options: AnnouncementsOptions): Announcements {
  const { log, failed } = options;
  const taken = new Set<string>();
  const announced = options.profiles.map((profile) => ({
    profile,
    announcement: options.announcement(profile),
  }));
  const all = announced.flatMap(({ profile, announcement }) => {
    const discovery = createDiscovery({ profile, announcement, report: log.warn });
    // If several profiles have the same path, the file of the first of them serves all their CLIs.
    if (taken.has(discovery.path)) return [];
    taken.add(discovery.path);
    return [{ profile, announcement, discovery }];
  });
  const listed = (profile: Profile, workspace: readonly string[]) =>
    listsAny(profile) ? workspace : workspace.filter(canBeJoined);

  function each(run: (one: (typeof all)[number]) => void): void {
    for (const one of all) {
      try {
        run(one);
      } catch (error) {
        if (!(error instanceof DiscoveryError) || one === all[0]) throw error;
        failed(one.profile, error);
      }
    }
  }

  return {
    // Leaves out relative paths, because `publish` refuses them. A path is relative if it begins with a variable whose
    // value is relative.
    paths: all.map(({ discovery }) => discovery.path).filter(isAbsolute),
    publish: (workspace) => each(({ profile, discovery }) => discovery.publish(listed(profile, workspace))),
    restore: () => each(({ discovery }) => discovery.restore()),
    refresh() {
      for (const { discovery } of all) discovery.refresh();
    },
    remove() {
      for (const { discovery } of all) discovery.remove();
    },
    variables(open) {
      const set = announced.map(({ profile, announcement }) =>
        discoveryVariables(profile, announcement, listed(profile, open)),
      );
      return {
        // If two profiles use the same variable, the first profile wins.
        set: Object.assign({}, ...set.reverse()),
        unset: announced.flatMap(({ profile }) => foreignVariables(profile)),
      };
    },
  };
}
