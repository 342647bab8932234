/** A row of the demo's `customers` table. */
export interface Customer {
  readonly id: string;
  readonly company_name: string;
  readonly plan: string;
  readonly seats: number;
  readonly region: string;
  readonly data_source_id: string;
  readonly logo_url: string | null;
  readonly status: string;
}

// The lengths of the two lists have no common divisor: their product is how many names there are.
const FIRST = [
  ...["Alderbrook", "Brightwater", "Cobalt", "Driftwood", "Eastgate", "Fernhill", "Granite Bay"],
  ...["Harborline", "Ironbark", "Juniper", "Kestrel", "Lanternfish", "Millstone", "Northlight"],
  ...["Oakridge", "Pinecrest", "Quarry Lane", "Redwing", "Saltmarsh", "Tamarack", "Umber"],
  ...["Violet Hill", "Westbourne", "Yarrow", "Zephyr"],
];
const SECOND = [
  ...["Logistics", "Foods", "Robotics", "Health", "Outdoor", "Energy", "Studios", "Insurance"],
  ...["Textiles", "Software", "Coffee Roasters", "Travel", "Analytics", "Furniture", "Bikes", "Media"],
];
const PLANS = [
  { plan: "starter", seats: 5 },
  { plan: "starter", seats: 8 },
  { plan: "team", seats: 25 },
  { plan: "team", seats: 40 },
  { plan: "enterprise", seats: 250 },
];
const REGIONS = ["eu-central", "us-east", "eu-west", "ap-south", "us-west", "eu-north", "sa-east"];

/**
 * Odd names that real tables hold sooner or later. They are last in the order of the ids: the end of a plan shows them.
 */
const ODD_NAMES = [
  "O'Malley & Sons",
  "Müller Präzisionswerkzeuge GmbH",
  "🦊 Foxtrot Games",
  "The Association of Independent Regional Manufacturers of Hand-Blown Glass and Fine Porcelain",
];

/** Invents customers, the same ones every time. Their ids are in the order of the list. */
export function inventCustomers(count: number): readonly Customer[] {
  return Array.from({ length: count }, (_, index) => {
    const company = ODD_NAMES[index - (count - ODD_NAMES.length)] ?? companyName(index);
    const region = REGIONS[index % REGIONS.length] ?? "";
    return {
      id: `cus-${1001 + index}`,
      company_name: company,
      ...(PLANS[(index * 3) % PLANS.length] as (typeof PLANS)[number]),
      region,
      data_source_id: `ds-${region.slice(0, 2)}-${7000 + index * 7}`,
      logo_url: index % 4 === 0 ? null : `https://cdn.example.com/logos/${1001 + index}.svg`,
      status: index % 23 === 22 ? "cancelled" : "active",
    };
  });
}

const companyName = (index: number): string =>
  `${FIRST[index % FIRST.length]} ${SECOND[index % SECOND.length]}`;
