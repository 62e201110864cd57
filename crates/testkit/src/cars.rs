//! A catalogue of used cars that never existed: makes, models and cities of the Mexican market, prices by make, age and mileage,
//! and the flaws of real files. The same seed gives the same file.

use std::fmt::Write;

/// What is sold: make, model, body, price when new in thousands, first year, trims.
type Model = (&'static str, &'static str, &'static str, u32, u32, &'static [&'static str]);

const MODELS: &[Model] = &[
    ("Nissan", "Versa", "Sedán", 360, 2011, &["Sense", "Advance", "Exclusive", "Drive"]),
    ("Nissan", "March", "Hatchback", 270, 2011, &["Active", "Sense", "Advance", "SR"]),
    ("Nissan", "Sentra", "Sedán", 450, 2010, &["Sense", "Advance", "Exclusive", "SR"]),
    ("Nissan", "Kicks", "SUV", 470, 2017, &["Sense", "Advance", "Exclusive", "e-Power"]),
    ("Nissan", "X-Trail", "SUV", 680, 2012, &["Sense", "Advance", "Exclusive"]),
    ("Nissan", "NP300", "Pickup", 460, 2013, &["Chasis", "Doble Cabina"]),
    ("Nissan", "Frontier", "Pickup", 690, 2014, &["LE", "Pro-4X"]),
    ("Volkswagen", "Jetta", "Sedán", 480, 2010, &["Trendline", "Comfortline", "Highline", "GLI"]),
    ("Volkswagen", "Vento", "Sedán", 350, 2014, &["Startline", "Comfortline", "Highline"]),
    ("Volkswagen", "Golf", "Hatchback", 520, 2010, &["Trendline", "Comfortline", "GTI"]),
    ("Volkswagen", "Polo", "Hatchback", 330, 2013, &["Startline", "Comfortline"]),
    ("Volkswagen", "Tiguan", "SUV", 720, 2011, &["Trendline", "Comfortline", "Highline", "R-Line"]),
    ("Volkswagen", "Taos", "SUV", 620, 2021, &["Trendline", "Comfortline", "Highline"]),
    ("Volkswagen", "Virtus", "Sedán", 410, 2020, &["Trendline", "Highline"]),
    ("Chevrolet", "Aveo", "Sedán", 310, 2010, &["LS", "LT", "LTZ"]),
    ("Chevrolet", "Spark", "Hatchback", 260, 2011, &["LS", "LT", "Activ"]),
    ("Chevrolet", "Beat", "Hatchback", 240, 2018, &["LS", "LT", "LTZ"]),
    ("Chevrolet", "Onix", "Sedán", 380, 2020, &["LS", "LT", "Premier", "RS"]),
    ("Chevrolet", "Cavalier", "Sedán", 420, 2018, &["LS", "LT", "Premier"]),
    ("Chevrolet", "Trax", "SUV", 430, 2013, &["LS", "LT", "Premier"]),
    ("Chevrolet", "Equinox", "SUV", 690, 2016, &["LS", "LT", "Premier"]),
    ("Chevrolet", "Silverado", "Pickup", 980, 2012, &["WT", "LT", "High Country"]),
    ("Toyota", "Corolla", "Sedán", 470, 2010, &["Base", "LE", "SE", "XSE"]),
    ("Toyota", "Yaris", "Hatchback", 370, 2012, &["Core", "S", "XLE"]),
    ("Toyota", "Camry", "Sedán", 700, 2012, &["LE", "SE", "XLE"]),
    ("Toyota", "Prius", "Hatchback", 640, 2012, &["Base", "Premium"]),
    ("Toyota", "RAV4", "SUV", 760, 2012, &["LE", "XLE", "Limited", "SE Hybrid"]),
    ("Toyota", "Hilux", "Pickup", 660, 2012, &["SR", "SR5"]),
    ("Toyota", "Sienna", "Minivan", 950, 2012, &["LE", "XLE", "Limited"]),
    ("Honda", "Civic", "Sedán", 560, 2010, &["EX", "i-Style", "Turbo Plus", "Touring"]),
    ("Honda", "City", "Sedán", 400, 2013, &["LX", "EX", "Touring"]),
    ("Honda", "Fit", "Hatchback", 370, 2012, &["Fun", "Cool", "Hit"]),
    ("Honda", "HR-V", "SUV", 540, 2016, &["Uniq", "Prime", "Touring"]),
    ("Honda", "CR-V", "SUV", 740, 2011, &["EX", "Turbo Plus", "Touring"]),
    ("Mazda", "Mazda 2", "Hatchback", 380, 2012, &["i Sport", "i Touring", "i Grand Touring"]),
    ("Mazda", "Mazda 3", "Sedán", 470, 2011, &["i Sport", "i Touring", "s Grand Touring", "Signature"]),
    ("Mazda", "Mazda 6", "Sedán", 600, 2014, &["i Grand Touring", "Signature"]),
    ("Mazda", "CX-3", "SUV", 470, 2016, &["i Sport", "i Grand Touring"]),
    ("Mazda", "CX-5", "SUV", 620, 2013, &["i Sport", "s Grand Touring", "Signature"]),
    ("Mazda", "CX-30", "SUV", 570, 2020, &["i Sport", "i Grand Touring"]),
    ("Kia", "Rio", "Sedán", 350, 2016, &["L", "LX", "EX"]),
    ("Kia", "Forte", "Sedán", 440, 2016, &["L", "LX", "EX", "GT"]),
    ("Kia", "Soul", "Hatchback", 450, 2016, &["LX", "EX"]),
    ("Kia", "Seltos", "SUV", 510, 2020, &["LX", "EX", "SX"]),
    ("Kia", "Sportage", "SUV", 610, 2016, &["LX", "EX", "SXL"]),
    ("Hyundai", "Accent", "Sedán", 370, 2015, &["GL", "GLS"]),
    ("Hyundai", "Elantra", "Sedán", 470, 2014, &["GLS", "Limited", "Sport"]),
    ("Hyundai", "Creta", "SUV", 490, 2017, &["GL", "GLS", "Limited"]),
    ("Hyundai", "Tucson", "SUV", 680, 2014, &["GL", "Limited", "Tech"]),
    ("Ford", "Figo", "Sedán", 300, 2016, &["Impulse", "Energy", "Titanium"]),
    ("Ford", "Fiesta", "Hatchback", 320, 2011, &["S", "SE", "ST"]),
    ("Ford", "Focus", "Sedán", 420, 2011, &["S", "SE", "Titanium"]),
    ("Ford", "EcoSport", "SUV", 430, 2013, &["Impulse", "Trend", "Titanium"]),
    ("Ford", "Escape", "SUV", 680, 2013, &["S Plus", "Trend", "Titanium"]),
    ("Ford", "Ranger", "Pickup", 650, 2013, &["XL", "XLT", "Lariat"]),
    ("Ford", "Mustang", "Coupé", 1050, 2015, &["V6", "EcoBoost", "GT"]),
    ("Renault", "Kwid", "Hatchback", 270, 2019, &["Intens", "Iconic", "Outsider"]),
    ("Renault", "Duster", "SUV", 420, 2013, &["Zen", "Intens", "Iconic"]),
    ("Renault", "Koleos", "SUV", 640, 2012, &["Intens", "Iconic"]),
    ("SEAT", "Ibiza", "Hatchback", 390, 2011, &["Reference", "Style", "FR"]),
    ("SEAT", "León", "Hatchback", 490, 2013, &["Style", "FR", "Cupra"]),
    ("SEAT", "Arona", "SUV", 480, 2018, &["Style", "Xcellence", "FR"]),
    ("SEAT", "Ateca", "SUV", 590, 2017, &["Style", "Xcellence"]),
    ("Suzuki", "Swift", "Hatchback", 360, 2012, &["GLS", "GLX", "Boosterjet"]),
    ("Suzuki", "Ignis", "Hatchback", 320, 2018, &["GL", "GLX"]),
    ("Suzuki", "Vitara", "SUV", 480, 2016, &["GLS", "GLX", "Turbo"]),
    ("Suzuki", "Ertiga", "Minivan", 400, 2018, &["GL", "GLX"]),
    ("Mitsubishi", "Mirage", "Hatchback", 290, 2014, &["GLX", "GLS"]),
    ("Mitsubishi", "Outlander", "SUV", 700, 2012, &["ES", "SE", "PHEV"]),
    ("Mitsubishi", "L200", "Pickup", 590, 2013, &["GLX", "GLS"]),
    ("BMW", "Serie 1", "Hatchback", 780, 2012, &["118i", "120i", "M Sport"]),
    ("BMW", "Serie 3", "Sedán", 980, 2012, &["320i", "330i", "M Sport"]),
    ("BMW", "X1", "SUV", 930, 2013, &["sDrive18i", "sDrive20i"]),
    ("BMW", "X3", "SUV", 1250, 2013, &["xDrive20i", "xDrive30i"]),
    ("Audi", "A1", "Hatchback", 620, 2012, &["Cool", "Ego", "S Line"]),
    ("Audi", "A3", "Sedán", 780, 2013, &["Dynamic", "Select", "S Line"]),
    ("Audi", "A4", "Sedán", 1000, 2012, &["Dynamic", "Select", "S Line"]),
    ("Audi", "Q3", "SUV", 900, 2013, &["Dynamic", "Select", "S Line"]),
    ("Audi", "Q5", "SUV", 1200, 2013, &["Dynamic", "Select", "S Line"]),
    ("Mercedes-Benz", "Clase A", "Hatchback", 800, 2013, &["A 180", "A 200", "A 250"]),
    ("Mercedes-Benz", "Clase C", "Sedán", 1050, 2012, &["C 180", "C 200", "C 300"]),
    ("Mercedes-Benz", "GLA", "SUV", 950, 2015, &["180", "200", "250"]),
    ("Jeep", "Compass", "SUV", 720, 2014, &["Sport", "Latitude", "Limited"]),
    ("Jeep", "Renegade", "SUV", 600, 2016, &["Sport", "Latitude", "Trailhawk"]),
    ("Jeep", "Wrangler", "SUV", 1100, 2013, &["Sport", "Sahara", "Rubicon"]),
    ("Peugeot", "208", "Hatchback", 420, 2014, &["Active", "Allure", "GT"]),
    ("Peugeot", "2008", "SUV", 500, 2015, &["Active", "Allure", "GT"]),
    ("Peugeot", "3008", "SUV", 720, 2013, &["Active", "Allure", "GT"]),
    ("Fiat", "500", "Hatchback", 360, 2012, &["Pop", "Sport", "Abarth"]),
    ("Fiat", "Mobi", "Hatchback", 260, 2017, &["Like", "Trekking"]),
    ("Dodge", "Attitude", "Sedán", 310, 2012, &["SE", "SXT"]),
    ("Dodge", "Journey", "SUV", 560, 2011, &["SE", "SXT", "GT"]),
    ("RAM", "700", "Pickup", 360, 2015, &["SLT", "Adventure", "Laramie"]),
    ("RAM", "1500", "Pickup", 1050, 2013, &["SLT", "Laramie", "Limited"]),
    ("MG", "MG5", "Sedán", 330, 2021, &["Style", "Excite", "Elegance"]),
    ("MG", "ZS", "SUV", 400, 2021, &["Style", "Excite", "Elegance"]),
    ("MG", "HS", "SUV", 520, 2021, &["Excite", "Elegance"]),
    ("BYD", "Dolphin", "Hatchback", 540, 2023, &["Plus"]),
    ("BYD", "Yuan Plus", "SUV", 780, 2023, &["Plus"]),
];

const CITIES: [(&str, u64); 10] = [
    ("Ciudad de México", 30),
    ("Guadalajara", 15),
    ("Monterrey", 15),
    ("Puebla", 10),
    ("Querétaro", 8),
    ("León", 7),
    ("Toluca", 5),
    ("Mérida", 4),
    ("Tijuana", 4),
    ("Cuernavaca", 2),
];

const COLOURS: [(&str, u64); 11] = [
    ("Blanco", 28),
    ("Gris", 18),
    ("Negro", 15),
    ("Plata", 13),
    ("Rojo", 11),
    ("Azul", 9),
    ("Café", 2),
    ("Verde", 1),
    ("Naranja", 1),
    ("Amarillo", 1),
    ("Beige", 1),
];

/// This year, for the catalogue.
const NOW: u32 = 2025;

/// A number generator that stays the same whatever library is used.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another one.
    fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn weighted<'a>(&mut self, all: &[(&'a str, u64)]) -> &'a str {
        let mut at = self.below(all.iter().map(|(_, weight)| weight).sum());
        for (name, weight) in all {
            if at < *weight {
                return name;
            }
            at -= weight;
        }
        all[0].0
    }
}

/// So many cars as a CSV file, by a seed: one row in a hundred lacks a value, one in two hundred has a model that is misspelt, one
/// in a hundred is there twice, and a few are broken.
pub fn cars(rows: usize, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut file = String::from(
        "id,marca,modelo,version,año,precio,kilometraje,color,transmision,carroceria,combustible,ciudad,foto\n",
    );
    let mut before = String::new();
    for number in 0..rows {
        let row =
            if dice.one_in(100) && !before.is_empty() { before.clone() } else { car(&mut dice, number) };
        file.push_str(&row);
        file.push('\n');
        before = row;
    }
    file
}

fn car(dice: &mut Dice, number: usize) -> String {
    // Makes that are sold more stand further up.
    let (one, other) = (dice.below(MODELS.len() as u64), dice.below(MODELS.len() as u64));
    let (make, model, body, new_price, first, trims) = MODELS[one.min(other) as usize];
    let trim = dice.below(trims.len() as u64) as usize;
    let youngest = dice.below(u64::from(NOW - first + 1)) as u32;
    let year = NOW - youngest.min(dice.below(u64::from(NOW - first + 1)) as u32);
    let age = f64::from(NOW - year);
    let kilometres = ((age + 0.3) * (9000.0 + dice.below(9000) as f64)) as u64;
    // The first year takes most; mileage beyond what is usual takes a little more.
    let level = 1.0 + 0.08 * trim as f64;
    let wear = 0.86_f64.powf(age.min(1.0)) * 0.925_f64.powf((age - 1.0).max(0.0));
    let usual = (age + 0.3) * 13_500.0;
    let driven = 1.0 - 0.06 * ((kilometres as f64 - usual) / usual.max(1.0)).clamp(-1.0, 1.0);
    let noise = 0.95 + dice.below(100) as f64 / 1000.0;
    let price = f64::from(new_price) * 1000.0 * level * wear * driven * noise;
    let price = ((price / 1000.0).round() as u64 * 1000).saturating_sub(1).max(49_999) / 100 * 100 + 99;
    let is_manual =
        matches!(trims[trim], "LS" | "LX" | "GL" | "Sense" | "Startline" | "SR" | "Core" | "L" | "Base")
            && dice.one_in(2);
    let electric = make == "BYD";
    let hybrid = model == "Prius"
        || trims[trim].contains("Hybrid")
        || trims[trim] == "e-Power"
        || trims[trim] == "PHEV";
    let fuel = match () {
        () if electric => "Eléctrico",
        () if hybrid => "Híbrido",
        () if body == "Pickup" && dice.one_in(3) => "Diésel",
        () => "Gasolina",
    };
    let transmission = if is_manual { "Manual" } else { "Automática" };
    let mut cells = [
        format!("{}", 100_000 + number),
        make.to_owned(),
        model.to_owned(),
        trims[trim].to_owned(),
        year.to_string(),
        price.to_string(),
        kilometres.to_string(),
        dice.weighted(&COLOURS).to_owned(),
        transmission.to_owned(),
        body.to_owned(),
        fuel.to_owned(),
        dice.weighted(&CITIES).to_owned(),
        format!("fotos/{}.jpg", 100_000 + number),
    ];
    if dice.one_in(100) {
        // Price, mileage, colour or city is missing.
        cells[[5, 6, 7, 11][dice.below(4) as usize]].clear();
    }
    if dice.one_in(200) && model.chars().count() >= 5 && !model.chars().any(|letter| letter.is_ascii_digit())
    {
        let at = 1 + dice.below(model.chars().count() as u64 - 2) as usize;
        cells[2] =
            model.chars().enumerate().filter(|(place, _)| *place != at).map(|(_, letter)| letter).collect();
    }
    if dice.one_in(500) {
        cells[5] = "consultar".to_owned();
    }
    let mut row = String::new();
    let _ = write!(row, "{}", cells.join(","));
    if dice.one_in(1000) {
        row.push_str(",,");
    }
    row
}
